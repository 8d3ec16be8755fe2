//! The settings of named networks: defaults and presets, which are those of their sources.

use crate::optim::{LrSchedule, OptimizerConfig, Sgd};
use crate::{Loss, Settings};
use spikelet_data::Augment;
use spikelet_nn::network::Network;

impl Settings {
    /// The default settings of a network.
    ///
    /// ```
    /// use spikelet_nn::network::Network;
    /// use spikelet_train::Settings;
    /// let settings = Settings::of_network(&Network::find("csnn")?);
    /// assert_eq!((settings.time_steps, settings.epochs), (4, 64));
    /// # Ok::<(), spikelet_core::Error>(())
    /// ```
    pub fn of_network(network: &Network) -> Self {
        match network {
            Network::Csnn(_) => Self::csnn(),
            Network::Cifar10Net(_) => Self::cifar10_net(),
            Network::PlifNet(_) => Self::plif_net(),
            Network::ResNet18(_) => Self::resnet18(),
            Network::Model(model) => Self {
                time_steps: model.time_steps(),
                encoder: "direct".to_string(),
                loss: Loss::CrossEntropy,
                ..Self::default()
            },
            _ => Self::default(),
        }
    }

    /// The settings of the source of the network, for [`Network::preset`]. All images are used for training, so that
    /// no best epoch is chosen.
    pub fn preset_of(network: &Network) -> Self {
        let settings = match network {
            Network::MnistFc(_) => Self::mnist_fc_preset(),
            Network::Csnn(_) => Self::csnn(),
            Network::Cifar10Net(_) => Self::cifar10_net_preset(),
            _ => Self::of_network(network),
        };
        Self {
            validation: 0.0,
            ..settings
        }
    }

    /// The settings of SpikingFlow's MNIST tutorial: 1000 epochs, 50 steps of Poisson spikes, batches
    /// of 256, cross entropy on the firing rate, Adam at a constant 1e-2.
    pub fn mnist_fc_preset() -> Self {
        Self {
            time_steps: 50,
            batch_size: 256,
            epochs: 1000,
            learning_rate: 1e-2,
            schedule: LrSchedule::Constant,
            loss: Loss::CrossEntropy,
            validation: 0.0,
            ..Self::default()
        }
    }

    /// The settings of SpikingJelly's Fashion-MNIST tutorial: 4 time steps, 64 epochs of batches of
    /// 128, SGD with a learning rate of 0.1 and momentum 0.9 on a cosine, mean squared error of the
    /// firing rates.
    pub fn csnn() -> Self {
        Self {
            time_steps: 4,
            batch_size: 128,
            epochs: 64,
            learning_rate: 0.1,
            schedule: LrSchedule::Cosine { min_factor: 0.0 },
            optimizer: OptimizerConfig::Sgd(Sgd {
                momentum: 0.9,
                ..Sgd::default()
            }),
            encoder: "direct".to_string(),
            loss: Loss::Mse,
            ..Self::default()
        }
    }

    /// The settings of `cifar10-net`: the image at each of 4 time steps, batches of 128, Adam with a
    /// learning rate of 1e-3 on a cosine, mean squared error of the firing rates.
    pub fn cifar10_net() -> Self {
        Self {
            time_steps: 4,
            batch_size: 128,
            epochs: 30,
            learning_rate: 1e-3,
            encoder: "direct".to_string(),
            ..Self::default()
        }
    }

    /// The settings of `plif-net`: the image at each of 8 time steps, 50 epochs of batches of 128, Adam with a
    /// learning rate of 2e-3 on a cosine, mean squared error of the firing rates. The paper's are batches of 16
    /// with a learning rate of 1e-3, for 1024 epochs.
    pub fn plif_net() -> Self {
        Self {
            time_steps: 8,
            epochs: 50,
            learning_rate: 2e-3,
            encoder: "direct".to_string(),
            ..Self::default()
        }
    }

    /// The settings of `resnet18`: the image at each of 4 time steps, 100 epochs of batches of 128, SGD with a
    /// learning rate of 0.1 on a cosine, Nesterov momentum 0.9 and weight decay 5e-4 of the weights of convolutions
    /// and linear layers, the cross entropy at each step with label smoothing 0.1; images are cropped after
    /// padding by 4 pixels and flipped, and a square of 8 pixels is cut out.
    pub fn resnet18() -> Self {
        Self {
            time_steps: 4,
            epochs: 100,
            learning_rate: 0.1,
            optimizer: OptimizerConfig::Sgd(Sgd {
                momentum: 0.9,
                nesterov: true,
                weight_decay: 5e-4,
            }),
            encoder: "direct".to_string(),
            loss: Loss::Tet,
            label_smoothing: 0.1,
            bias_decay: false,
            augment: Augment {
                crop_padding: 4,
                flip: true,
                cutout: 8,
                ..Augment::default()
            },
            ..Self::default()
        }
    }

    /// The settings of SpikingFlow's CIFAR-10 tutorial: 100 epochs, 50 steps of Poisson spikes,
    /// batches of 32, Adam.
    pub fn cifar10_net_preset() -> Self {
        Self {
            batch_size: 32,
            epochs: 100,
            learning_rate: 1e-3,
            ..Self::mnist_fc_preset()
        }
    }
}
